;;; SPDX-License-Identifier: GPL-2.0-or-later
(defvar *says* nil)

(defun work ()
  (when *says*
    (dolist (frame (sb-debug:list-backtrace))
      (format t "frame ~a~%" (substitute #\- #\Space (princ-to-string (if (consp frame) (car frame) frame)))))
    (format t "ready~%")
    (finish-output))
  (let ((total 0))
    (dotimes (i 100000 total)
      (setf total (mod (+ total (* i i)) 1000003)))))

(defun deep (n)
  (if (zerop n) (work) (1+ (deep (1- n)))))

(dotimes (i 5) (deep 20))
(let ((*says* t)) (deep 20))
(loop (deep 20))
