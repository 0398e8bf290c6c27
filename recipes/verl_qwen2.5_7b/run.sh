#!/usr/bin/env bash
# Qwen2.5-7B under GMPO or GRPO-SG in verl 0.9.1, word problems graded by our verifiers. Nobody of this project has run this
# file: no machine with GPUs was at hand. Its options were read from verl's own configuration, not tried.
set -euo pipefail
cd "$(dirname "$0")"
LOSS=${LOSS:-lessons_gmpo} # or lessons_grpo_sg; its constants: see methods.py
python data.py
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" # for methods.py, which every worker imports

python -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files="$PWD/train.parquet" \
    data.val_files="$PWD/dev.parquet" \
    data.train_batch_size=128 \
    data.max_prompt_length=512 \
    data.max_response_length=1024 \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \
    actor_rollout_ref.model.external_lib=methods \
    actor_rollout_ref.model.use_fused_kernels=False \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.policy_loss.loss_mode="$LOSS" \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.ppo_mini_batch_size=32 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \
    actor_rollout_ref.actor.use_kl_loss=False \
    actor_rollout_ref.actor.entropy_coeff=0 \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \
    reward.custom_reward_function.path="$PWD/methods.py" \
    reward.custom_reward_function.name=compute_score \
    trainer.n_gpus_per_node="${GPUS:-8}" \
    trainer.nnodes=1 \
    trainer.total_epochs=1 \
    trainer.logger='["console"]'
