import { expect, test } from 'vitest'
import { diffLines } from './diff-lines.ts'

const DIFF = `--- toolyard.config.json
+++ toolyard.config.json
@@ -1,3 +1,4 @@
 {
-  "a": 1
+  "a": 1,
+  "b": 2
 }
@@ -40,1 +41,1 @@
---- not a header
\\ No newline at end of file
`

test('reads the lines of a unified diff without its headers', () => {
  expect(diffLines(DIFF)).toEqual([
    { kind: 'same', text: '{' },
    { kind: 'removed', text: '  "a": 1' },
    { kind: 'added', text: '  "a": 1,' },
    { kind: 'added', text: '  "b": 2' },
    { kind: 'same', text: '}' },
    { kind: 'gap', text: '…' },
    { kind: 'removed', text: '--- not a header' },
  ])
})

test('an empty diff has no lines', () => expect(diffLines('')).toEqual([]))
