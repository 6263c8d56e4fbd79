;;; SPDX-License-Identifier: GPL-2.0-or-later
(define (work i total)
  (if (zero? i) total (work (- i 1) (modulo (+ total (* i i)) 1000003))))

(define (deep n)
  (if (zero? n) (work 20000 0) (+ 1 (deep (- n 1)))))

(define (turns n)
  (if (positive? n) (begin (deep 20) (turns (- n 1)))))

(turns 200)
(display "ready\n")
(force-output)
(let loop () (deep 20) (loop))
