// sort.cpp - sample sort of random numbers, in C++.
//
//     mpicxx -O2 -o sort samples/sort.cpp
//     mpiexec -n 4 scalatrace record -o sort.st -- ./sort 1000 5
//
// Size: any number of ranks; arguments: numbers per rank (1000), rounds (5).
// Expect: "correct" and status 0. Per round an Allgather of samples, an Alltoall of the counts and an Alltoallv of
// the numbers: the counts and displacements are arrays that differ on every rank and in every round.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

using Numbers = std::vector<long>;

namespace {

int ranks() {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

int self() {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

Numbers random_numbers(int n, int round) {
    std::mt19937 generator(1000u * static_cast<unsigned>(round) + static_cast<unsigned>(self()));
    Numbers numbers(static_cast<size_t>(n));
    for (long &number : numbers) number = static_cast<long>(generator() % 1000000);
    return numbers;
}

// The numbers that divide the ranks' shares, from one sample per rank and share.
Numbers splitters(const Numbers &sorted) {
    const size_t size = static_cast<size_t>(ranks());
    Numbers own(size), all(size * size), chosen;
    for (size_t i = 0; i < size; i++) own[i] = sorted.empty() ? 0 : sorted[i * sorted.size() / size];
    MPI_Allgather(own.data(), ranks(), MPI_LONG, all.data(), ranks(), MPI_LONG, MPI_COMM_WORLD);
    std::sort(all.begin(), all.end());
    for (size_t i = 1; i < size; i++) chosen.push_back(all[i * size]);
    return chosen;
}

std::vector<int> starts(const std::vector<int> &counts) {
    std::vector<int> result(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), result.begin(), 0);
    return result;
}

// Send every number to the rank of its share.
Numbers redistribute(const Numbers &sorted, const Numbers &limits) {
    std::vector<int> send(static_cast<size_t>(ranks())), receive(send.size());
    for (long number : sorted)
        send[static_cast<size_t>(std::upper_bound(limits.begin(), limits.end(), number) - limits.begin())]++;
    MPI_Alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, MPI_COMM_WORLD);
    Numbers share(static_cast<size_t>(std::accumulate(receive.begin(), receive.end(), 0)));
    MPI_Alltoallv(sorted.data(), send.data(), starts(send).data(), MPI_LONG, share.data(), receive.data(),
                  starts(receive).data(), MPI_LONG, MPI_COMM_WORLD);
    std::sort(share.begin(), share.end());
    return share;
}

// True on all ranks when no number was lost and every share ends before the next one begins.
bool correct(const Numbers &before, const Numbers &after) {
    long own[2] = {std::accumulate(before.begin(), before.end(), 0L), std::accumulate(after.begin(), after.end(), 0L)};
    long total[2], highest = after.empty() ? -1 : after.back(), below = -1;
    MPI_Allreduce(own, total, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(&highest, &below, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    int good = total[0] == total[1] && (self() == 0 || after.empty() || below <= after.front()), all_good;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all_good != 0;
}

bool sort_round(int n, int round) {
    const Numbers before = random_numbers(n, round);
    Numbers sorted = before;
    std::sort(sorted.begin(), sorted.end());
    return correct(before, redistribute(sorted, splitters(sorted)));
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int n = argc > 1 ? std::atoi(argv[1]) : 1000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    bool good = true;
    for (int round = 0; round < rounds; round++) good = sort_round(n, round) && good;
    if (self() == 0) std::printf("sort on %d ranks, %d rounds: %s\n", ranks(), rounds, good ? "correct" : "WRONG");
    MPI_Finalize();
    return good ? 0 : 1;
}
