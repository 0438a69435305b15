import type { StoredKey } from '../../core/storage/key-store.ts'

/** A key as those see it who manage it. */
export interface ShownKey extends Omit<StoredKey, 'hash' | 'tenant'> {
  readonly last_used_at: string | null
}
