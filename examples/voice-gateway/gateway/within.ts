/** Gives what the work gives, or the other thing where that takes too long; the work itself goes on. */
export function within<T, Late>(ms: number, work: Promise<T>, late: () => Late): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late()), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
