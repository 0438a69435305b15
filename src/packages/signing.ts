import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PackageError } from './tarball.ts'

const FILE = 'signing-key.pem'

/** Signs packages with a private key. */
export interface Signer {
  /** The public key, in base64url. */
  readonly key: string
  sign(text: string): string
}

/** The signing key in the data folder; created if it doesn't exist. Undefined if there is none and none is wanted. */
export async function openSigner(folder: string, create = true): Promise<Signer | undefined> {
  const file = join(folder, FILE)
  if (create) await createKey(folder, file)
  const pem = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new PackageError(`The signing key ${file} cannot be read (${error.code})`)
  })
  if (pem === undefined) return undefined
  const { mode } = await stat(file)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new PackageError(`Others can read the signing key ${file}: run "chmod 600 ${file}", or delete it`)
  }
  return signerOf(readPrivateKey(pem, file))
}

export const signerOf = (key: KeyObject): Signer => ({
  key: publicText(createPublicKey(key)),
  sign: (text) => sign(null, Buffer.from(text), key).toString('base64url'),
})

async function createKey(folder: string, file: string): Promise<void> {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Fails if there is one.
  await writeFile(file, pem, { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw new PackageError(`The signing key ${file} cannot be written (${error.code})`)
  })
}

function readPrivateKey(pem: string, file: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The error could quote the key.
  }
  throw new PackageError(`${file} is not an Ed25519 key in PEM: delete it to create another`)
}

const publicText = (key: KeyObject): string => String(key.export({ format: 'jwk' }).x)

/** A short name of a public key for people: `SHA256:…`. */
export const fingerprintOf = (key: string): string =>
  `SHA256:${createHash('sha256').update(Buffer.from(key, 'base64url')).digest('base64url')}`

/** Whether the owner of the key has signed the text. */
export function isSignedBy(key: string, text: string, signature: string): boolean {
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: key }
    const opened = createPublicKey({ key: jwk, format: 'jwk' })
    // One spelling of a key: keys are compared as text.
    return publicText(opened) === key && verify(null, Buffer.from(text), opened, Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}
