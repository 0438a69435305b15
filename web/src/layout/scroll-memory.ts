const places = new Map<string, number>()
/** By address: the link of the page through which it was left. */
const links = new Map<string, string>()
let byHistory = false

addEventListener('scroll', () => places.set(location.href, scrollY), { passive: true })
addEventListener('popstate', () => {
  byHistory = true
  setTimeout(() => {
    byHistory = false
  })
})
// Before the router, which changes the address.
addEventListener(
  'click',
  ({ target, ctrlKey, metaKey, shiftKey }) => {
    const link = target instanceof Element ? target.closest('a[href]') : null
    // Such clicks open another tab.
    if (link === null || ctrlKey || metaKey || shiftKey || link.getAttribute('target') === '_blank') return
    if (link.closest('main') === null) links.delete(location.href)
    else links.set(location.href, link.getAttribute('href') ?? '')
  },
  { capture: true },
)

/**
 * Scrolls a new page to its start, and after "back" to its previous position. The browser
 * would scroll before the page is rendered.
 */
export const placeToGo = (): number => (byHistory ? (places.get(location.href) ?? 0) : 0)

/** Lists are there when the server has answered. */
const WAIT_MS = 3_000

/** After "back", focuses the link through which the page was left, unless the focus has moved. Returns how to stop. */
export function focusLeftLink(main: HTMLElement): (() => void) | undefined {
  const href = byHistory ? links.get(location.href) : undefined
  if (href === undefined) return undefined
  const find = (): boolean => {
    const { activeElement } = document
    if (activeElement !== main && activeElement !== document.body) return true
    const link = main.querySelector<HTMLElement>(`a[href="${CSS.escape(href)}"]`)
    link?.focus({ preventScroll: true })
    return link !== null
  }
  if (find()) return undefined
  const observer = new MutationObserver(() => find() && stop())
  const timer = setTimeout(() => observer.disconnect(), WAIT_MS)
  const stop = () => {
    observer.disconnect()
    clearTimeout(timer)
  }
  observer.observe(main, { childList: true, subtree: true })
  return stop
}
