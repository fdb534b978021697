package org.apache.kafka.controller;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Answers calls, in batches.
 *
 * <p>Input: a line with the number of calls, then a line for each; so again until the end. Output: "ready", then a line
 * for each call, after the whole batch was read.
 */
class BridgeLoop {
    static void run(UnaryOperator<String> answer) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        BufferedWriter output = new BufferedWriter(new OutputStreamWriter(System.out));
        // What the class logs must not mix with the answers.
        System.setOut(System.err);
        output.write("ready\n");
        output.flush();
        for (String count = input.readLine(); count != null; count = input.readLine()) {
            List<String> calls = new ArrayList<>();
            for (int i = Integer.parseInt(count); i > 0; i--) {
                calls.add(input.readLine());
            }
            for (String call : calls) {
                output.write(answer.apply(call));
                output.write('\n');
            }
            output.flush();
        }
    }
}
