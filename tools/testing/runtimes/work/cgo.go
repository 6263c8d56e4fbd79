// SPDX-License-Identifier: GPL-2.0-or-later
package main

/*
static int spin(int n)
{
	volatile int total = 0;

	for (int i = 0; i < n; i++)
		total = total + i;
	return total;
}

int back(int n);

static int there_and_back(int n)
{
	return back(n) + spin(n);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
)

var says bool

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

//export back
func back(n C.int) C.int {
	total := C.int(0)
	if says {
		say()
	}
	for i := C.int(0); i < n; i++ {
		total += i * i % 7
	}
	return total
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		return int(C.there_and_back(300000))
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
