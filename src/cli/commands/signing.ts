import type { Command } from 'commander'
import { dataFolder } from '../../core/environment.ts'
import { actions, type Done, type Terminal } from '../common/terminal.ts'

export function defineSigning(keys: Command, terminal: Terminal, done: Done): void {
  keys
    .command('signing')
    .description('Show the fingerprint of the key that signs packages; it is created if it does not exist')
    .action(actions(terminal, done)(keysSigning))
}

/** `toolyard keys signing`: the key of `toolyard pack`. The private key stays in the data folder. */
async function keysSigning(terminal: Terminal): Promise<number> {
  const { fingerprintOf, openSigner } = await import('../../packages/signing.ts')
  const { key = '' } = (await openSigner(dataFolder(terminal.env))) ?? {}
  const fingerprint = fingerprintOf(key)
  if (terminal.json) terminal.document({ fingerprint, key })
  else {
    terminal.result(fingerprint)
    terminal.note(
      'It signs the packages of "toolyard pack". Publish the fingerprint where the users of your packages can find it.',
    )
  }
  return 0
}
