const places = new Map<string, number>()
let byHistory = false

addEventListener('scroll', () => places.set(location.href, scrollY), { passive: true })
addEventListener('popstate', () => {
  byHistory = true
  setTimeout(() => {
    byHistory = false
  })
})

/**
 * Where a page that has just been opened is scrolled to: its beginning, or where it was left, for who comes back with
 * the buttons of the browser. The browser itself would scroll before the page is drawn.
 */
export const placeToGo = (): number => (byHistory ? (places.get(location.href) ?? 0) : 0)
