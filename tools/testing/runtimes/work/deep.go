// SPDX-License-Identifier: GPL-2.0-or-later
package main

import (
	"fmt"
	"runtime"
	"strings"
)

var says bool
var table = map[int]int{}

//go:noinline
func say() {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "main.") {
			fmt.Println("frame", frame.Function)
		}
		if !more {
			break
		}
	}
	fmt.Println("ready")
}

//go:noinline
func work() int {
	total := 0
	if says {
		say()
	}
	for i := 0; i < 20000; i++ {
		table[i%100] += i
		total += len(fmt.Sprint(i % 10))
	}
	return total
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		return work()
	}
	return deep(n-1) + 1
}

func main() {
	for i := 0; i < 5; i++ {
		deep(20)
	}
	says = true
	deep(20)
	says = false
	for {
		deep(20)
	}
}
