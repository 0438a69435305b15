import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { takeOverStdout } from './serve-stdio.ts'

const text = (stream: PassThrough) => String(stream.read() ?? '')

test('gives back what it has taken', () => {
  const [stdout, aside] = [new PassThrough(), new PassThrough()]
  const { write } = stdout
  const taken = takeOverStdout(stdout, aside)
  stdout.write('print')
  taken.output.write('message')
  expect([text(stdout), text(aside)]).toEqual(['message', 'print'])
  taken.release()
  stdout.write('print')
  expect([text(stdout), text(aside), stdout.write === write]).toEqual(['print', '', true])
})
