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
 * Scrolls a new page to its start, and after "back" to its previous position. The browser
 * would scroll before the page is rendered.
 */
export const placeToGo = (): number => (byHistory ? (places.get(location.href) ?? 0) : 0)
