// SPDX-License-Identifier: Apache-2.0
// Congestion control at the sender: sets the rate or window of connections by what comes back to them.
//
// One controller serves all connections of a network that it is for; a new one is one file and a line in
// make_controller().
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "network/packet/spec.hpp"
#include "network/packet/state.hpp"

namespace warploom {

// What a switch writes into a packet as it leaves (in-band telemetry).
struct HopNote {
  EdgeId link = 0;
  std::int64_t time = 0;
  std::int64_t queued = 0;  // bytes
  std::int64_t sent = 0;    // bytes that the port has sent so far
  double rate = 0;          // bytes a ps
};
inline constexpr std::size_t most_notes = 8;

struct Answer {
  std::int64_t now = 0;
  std::int64_t sent_at = 0;  // of the packet that is answered
  std::int64_t offset = 0;   // of its first byte
  std::int64_t bytes = 0;    // of its payload
  bool is_marked = false;
  std::span<const HopNote> notes;
};

// The parts of the network that a controller may use.
class CongestionHost {
 public:
  virtual ~CongestionHost() = default;
  virtual Connection& connection(ConnectionId id) = 0;
  // Bytes a ps that the connection's first link carries.
  virtual double line_rate(ConnectionId id) const = 0;
  // Calls on_timer(id, which) at `time`; `which` is 0 or 1; a later call for the same replaces the first.
  virtual void set_timer(ConnectionId id, int which, std::int64_t time) = 0;
  // After rate or window have changed: the connection may be able to send.
  virtual void wake(ConnectionId id) = 0;
};

class CongestionController {
 public:
  virtual ~CongestionController() = default;
  virtual bool wants_answers() const { return false; }  // an acknowledgement for each packet
  virtual bool wants_notes() const { return false; }
  virtual std::int64_t notification_interval() const { return 0; }
  virtual void on_start(ConnectionId id, std::int64_t now) = 0;
  virtual void on_sent(ConnectionId /*id*/, std::int64_t /*bytes*/, std::int64_t /*now*/) {}
  virtual void on_answer(ConnectionId /*id*/, const Answer& /*answer*/) {}
  virtual void on_notification(ConnectionId /*id*/, std::int64_t /*now*/) {}  // CNP, BECN
  virtual void on_timer(ConnectionId /*id*/, int /*which*/, std::int64_t /*now*/) {}
};

// Null where nobody controls.
std::unique_ptr<CongestionController> make_controller(const EthernetSpec& spec, CongestionHost& host);
std::unique_ptr<CongestionController> make_controller(const CongestionTableSpec& spec, CongestionHost& host);

}  // namespace warploom
