import { useEffect } from 'react'

const PLACES = 'section, article, [role="dialog"], main'
/** Code that removes a focused element often focuses another one itself, right after that. */
const WAIT_MS = 50

/** Moves the focus to the part around its element when the element is removed or disabled. */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: Element | undefined
    let around: readonly Element[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const remember = ({ target }: FocusEvent) => {
      if (!(target instanceof Element)) return
      last = target
      around = ancestorsOf(target)
    }
    const restore = () => {
      timer = undefined
      if (document.activeElement !== document.body || last === undefined) return
      if (last.isConnected && !last.matches(':disabled')) return
      last = undefined
      const place = around.find((one) => one.isConnected && one.matches(PLACES)) ?? document.getElementById('main')
      if (!(place instanceof HTMLElement)) return
      if (!place.hasAttribute('tabindex')) place.tabIndex = -1
      place.focus({ preventScroll: true })
    }
    const observer = new MutationObserver(() => {
      timer ??= setTimeout(restore, WAIT_MS)
    })
    observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] })
    addEventListener('focusin', remember)
    return () => {
      observer.disconnect()
      removeEventListener('focusin', remember)
      clearTimeout(timer)
    }
  }, [])
}

/** From the inside to the outside. */
function ancestorsOf(element: Element): readonly Element[] {
  const found: Element[] = []
  for (let at = element.parentElement; at !== null; at = at.parentElement) found.push(at)
  return found
}
