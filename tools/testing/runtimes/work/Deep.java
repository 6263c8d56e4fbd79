// SPDX-License-Identifier: GPL-2.0-or-later
class Deep {
    static boolean says;

    static int work() {
        if (says) {
            for (StackTraceElement frame : Thread.currentThread().getStackTrace())
                // main() may never be compiled.
                if (frame.getClassName().equals("Deep") && !frame.getMethodName().equals("main"))
                    System.out.println("frame " + frame.getMethodName());
            System.out.println("ready");
            System.out.flush();
        }
        StringBuilder text = new StringBuilder();
        int total = 0;
        for (int i = 0; i < 2000; i++) {
            text.append(i % 10);
            total += text.charAt(i / 2) * i % 7;
        }
        return total;
    }

    static int deep(int n) {
        return n == 0 ? work() : deep(n - 1) + 1;
    }

    public static void main(String[] args) {
        for (int turn = 0; turn < 12000; turn++)
            deep(20);
        says = true;
        deep(20);
        says = false;
        for (;;)
            deep(20);
    }
}
