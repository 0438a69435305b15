// Before anything is painted: a page that was chosen dark must not flash white.
;(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const show = () => {
    let chosen = null
    try {
      chosen = localStorage.getItem('toolyard-theme')
    } catch {
      // A browser that keeps nothing follows the system.
    }
    document.documentElement.dataset.theme = chosen ?? (dark.matches ? 'dark' : 'light')
  }
  show()
  dark.addEventListener('change', show)
})()
