import { hash, randomBytes } from 'node:crypto'

/** Begins every key, so that one that has leaked can be found by who looks for it. */
const PREFIX = 'ty_'

/** A new key: 256 random bits. It is shown once; only its hash is kept. */
export const newApiKey = (): string => `${PREFIX}${randomBytes(32).toString('base64url')}`

/** What a key is known by. It has too many bits to be guessed, so that one fast hash is enough. */
export const hashApiKey = (key: string): string => hash('sha256', key)
