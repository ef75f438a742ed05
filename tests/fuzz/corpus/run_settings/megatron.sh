TP=8
ARGS=( --num-layers 40 --hidden-size 4096 --num-attention-heads 64 --seq-length 2048 )
torchrun pretrain_gpt.py "${ARGS[@]}" --tensor-model-parallel-size $TP \
  --micro-batch-size=4 --global-batch-size 4 --vocab-size 51200 --fp16 # a comment
