import { expect, it } from 'vitest'
import { cleanText } from './clean-text.ts'

it.each([
  ['plain\ttext\nof two lines', 'plain\ttext\nof two lines'],
  ['\u001b[1;31mred\u001b[0m', 'red'],
  ['\u001b]0;a title\u0007text', 'text'],
  ['\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['\u001bPq#0;2\u001b\\text', 'text'],
  ['\u009b31mred\u009d0;title\u009ctext', 'redtext'],
  ['\u001b]never ended\nnext line', '\nnext line'],
  ['\u001b(Btext\u001b=\u001b', 'text'],
  ['10%\r20%\r\ndone\u0000\u0008\u007f', '10%\n20%\ndone'],
  ['a\u202eb\u2066c\ud800d', 'abcd'],
  ['grüße 🙂', 'grüße 🙂'],
])('%j is shown as %j', (text, clean) => {
  expect(cleanText(text)).toBe(clean)
})
