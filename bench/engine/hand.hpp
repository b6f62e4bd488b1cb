// SPDX-License-Identifier: BSD-3-Clause
// The two loops that the engine is measured against: one-shot and direct for two ranks, written
// out, over the same rings, cells and kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cpu_pause.hpp"
#include "engine/stream.hpp"
#include "reduce/kernels.hpp"
#include "transport/shm/segment.hpp"

class Hand {
public:
    Hand(stretto::transport::Segment &segment, int rank) : segment_(segment), rank_(rank) {}

    // Everybody publishes everything; everybody reduces everything.
    void one_shot(const float *input, float *output, std::size_t bytes, std::size_t slice) {
        for (std::size_t at = 0; at < bytes; at += slice)
            publish(input, at, std::min(slice, bytes - at));
        for (std::size_t at = 0; at < bytes; at += slice) {
            const std::size_t length = std::min(slice, bytes - at);
            void *out = reinterpret_cast<char *>(output) + at;
            const void *in[2] = {reinterpret_cast<const char *>(input) + at, take(length)};
            if (rank_ == 1)
                std::swap(in[0], in[1]);
            sum_(&out, 1, in, 2, length / 4, 0);
            taken();
        }
    }

    // Each reduces its half and stores it twice; slices k + 1 and k + 2 are out before k is
    // reduced. Both ranks publish in the same order, so the peer's cells lie where our own lie.
    void direct(const float *input, float *output, std::size_t bytes, std::size_t slice,
                bool streaming) {
        const std::size_t half = bytes / 2;
        const std::size_t mine = rank_ == 0 ? 0 : half, other = half - mine;
        const std::size_t slices = (half + slice - 1) / slice;
        const auto length = [&](std::size_t k) { return std::min(slice, half - k * slice); };
        const std::uint64_t shift = tail_ - head_;
        contributions_.resize(slices);
        results_.resize(slices);
        std::size_t sent = 0, reduced = 0, copied = 0;
        constexpr std::size_t kAhead = 2;
        while (copied < slices) {
            if (sent < slices && sent <= reduced + kAhead) {
                contributions_[sent] = head_;
                publish(input, other + sent * slice, length(sent));
                ++sent;
                continue;
            }
            if (reduced < slices && reduced <= copied + 1) {
                const std::size_t now = length(reduced), at = mine + reduced * slice;
                tail_ = contributions_[reduced] + shift;
                const void *in[2] = {reinterpret_cast<const char *>(input) + at, take(now)};
                if (rank_ == 1)
                    std::swap(in[0], in[1]);
                results_[reduced] = head_;
                void *out[2] = {reinterpret_cast<char *>(output) + at, room(now)};
                const std::uint32_t cell_streams =
                    choice_.favoured(false) == Way::streaming ? 2u : 0u;
                sum_(out, 2, in, 2, now / 4, (streaming ? 1u : 0u) | cell_streams);
                flag(now);
                ++reduced;
            } else {
                const std::size_t now = length(copied);
                tail_ = results_[copied] + shift;
                const void *in = take(now);
                void *out = reinterpret_cast<char *>(output) + other + copied * slice;
                copy_(&out, 1, &in, 1, now, streaming ? 1u : 0u);
                ++copied;
            }
            // The first cell that is not taken: what the peer must not overwrite.
            std::uint64_t first = head_;
            if (reduced < sent)
                first = contributions_[reduced];
            if (copied < reduced)
                first = std::min(first, results_[copied]);
            tail_ = first + shift;
            taken();
        }
    }

private:
    using Way = stretto::engine::StoreChoice::Way;
    using Cell = stretto::transport::Cell;

    Cell &cell(int rank, std::uint64_t position) {
        return *reinterpret_cast<Cell *>(segment_.cells(rank) +
                                         (position & (segment_.ring_bytes() - 1)));
    }

    // What a payload takes with its header in front, however long it is.
    static constexpr std::size_t cell_bytes(std::size_t length) {
        return stretto::round_up(length + stretto::transport::kCellHeaderBytes,
                                 stretto::transport::kLineBytes);
    }

    // Payload of our next cell; waits for the peer to have taken what lies there.
    void *room(std::size_t length) {
        const std::uint64_t end = head_ + cell_bytes(length);
        while (end > freed_ + segment_.ring_bytes()) {
            freed_ = segment_.lines(1 - rank_).progress.load(std::memory_order_acquire);
            stretto::cpu_pause();
        }
        return cell(rank_, head_).payload();
    }

    void flag(std::size_t length) {
        stretto::transport::publish(cell(rank_, head_), kKey + head_);
        head_ += cell_bytes(length);
    }

    void publish(const float *input, std::size_t at, std::size_t length) {
        const void *in = reinterpret_cast<const char *>(input) + at;
        void *out = room(length);
        const auto bytes = static_cast<std::uint32_t>(length);
        const bool choose = length >= stretto::engine::StoreChoice::kLeastBytes;
        const bool timed = choose && choice_.times(bytes);
        const std::uint64_t start = timed ? stretto::now_ticks() : 0;
        Way way = Way::plain; // the engine may copy by strings as well
        if (choose)
            way = timed ? choice_.way(start, false) : choice_.favoured(false);
        copy_(&out, 1, &in, 1, length, way == Way::streaming ? 1u : 0u);
        if (timed)
            choice_.saw(way, bytes, stretto::now_ticks() - start);
        flag(length);
    }

    // Payload of the peer's next cell, when it is there.
    const void *take(std::size_t length) {
        Cell &header = cell(1 - rank_, tail_);
        while (!stretto::transport::published(header, kKey + tail_))
            stretto::cpu_pause();
        tail_ += cell_bytes(length);
        return header.payload();
    }
    void taken() { segment_.lines(rank_).progress.store(tail_, std::memory_order_release); }

    static constexpr std::uint64_t kKey = 0x5eed5eed5eed5eedu;
    stretto::transport::Segment &segment_;
    const int rank_;
    std::vector<std::uint64_t> contributions_, results_; // positions of our cells in this call
    std::uint64_t head_ = 0, tail_ = 0,
                  freed_ = 0; // stream positions: ours, the peer's, ours freed
    stretto::engine::StoreChoice choice_;
    const stretto::reduce::Pass sum_ =
        stretto::reduce::pass(stretto::Dtype::f32, stretto::ReduceOp::sum);
    const stretto::reduce::Pass copy_ = stretto::reduce::copy_pass();
};
