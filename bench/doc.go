// Command bench measures what Durward costs. It starts a gateway with the echo
// server behind it, sends the same load directly to the echo server over HTTP
// and through the gateway, in interleaved rounds, and prints ratios: medians
// over the rounds, one line a cell (see BENCHMARKS.md for the fields).
//
//	go run ./bench                  # everything
//	go run ./bench -only 'bare'     # the cells whose name matches
//	go run ./bench -profile         # also write a CPU profile of each path to bench/out
//
// It exits non-zero when a call failed or a ratio is below its target.
package main
