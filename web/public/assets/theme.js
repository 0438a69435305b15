// Before anything is painted: a page that was chosen dark must not flash white.
;(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const show = () => {
    let chosen = null
    let density = null
    try {
      chosen = localStorage.getItem('toolyard-theme')
      density = localStorage.getItem('toolyard-density')
    } catch {
      // A browser that keeps nothing follows the system.
    }
    document.documentElement.dataset.theme = chosen ?? (dark.matches ? 'dark' : 'light')
    document.documentElement.dataset.density = density ?? 'comfortable'
  }
  show()
  dark.addEventListener('change', show)
})()
