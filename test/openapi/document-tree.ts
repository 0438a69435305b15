/** A value of a document. Nothing in it is trusted. */
export type Tree = unknown
export type Branch = Readonly<Record<string, Tree>>

const MOST_HOPS = 50

export const isBranch = (value: Tree): value is Branch =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What stands under a key; undefined where there is nothing. */
export function at(value: Tree, key: string): Tree {
  return isBranch(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

export const textAt = (value: Tree, key: string): string | undefined => {
  const text = at(value, key)
  return typeof text === 'string' && text !== '' ? text : undefined
}

export const branchAt = (value: Tree, key: string): Branch => {
  const branch = at(value, key)
  return isBranch(branch) ? branch : {}
}

export const listAt = (value: Tree, key: string): readonly Tree[] => {
  const list = at(value, key)
  return Array.isArray(list) ? list : []
}

/** A document as this test reads it, which shares nothing with how it is imported. */
export class DocumentTree {
  readonly root: Branch

  constructor(root: Tree) {
    this.root = isBranch(root) ? root : {}
  }

  /** What a value is once references in the document are followed; undefined where they lead out of it or nowhere. */
  resolve(value: Tree): Tree {
    let found = value
    for (let hops = 0; hops < MOST_HOPS; hops++) {
      const reference = at(found, '$ref')
      if (typeof reference !== 'string') return found
      if (!reference.startsWith('#')) return undefined
      found = this.#pointed(reference.slice(1))
    }
    return undefined
  }

  #pointed(pointer: string): Tree {
    if (pointer === '') return this.root
    return pointer
      .split('/')
      .slice(1)
      .reduce<Tree>((value, token) => {
        const key = unescaped(token)
        if (Array.isArray(value)) return value[Number(key)]
        return at(value, key)
      }, this.root)
  }
}

function unescaped(token: string): string {
  let text = token
  try {
    text = decodeURIComponent(token)
  } catch {
    // It is meant as it stands.
  }
  return text.replace(/~([01])/g, (_, digit: string) => (digit === '1' ? '/' : '~'))
}
