/** How the page looks: by the reader's own light or dark. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d0d7de, #3d444d); --soft: light-dark(#f6f8fa, #161b22);
  --good: light-dark(#d8f5dd, #12361e); --fair: light-dark(#fff3c4, #3d3000); --bad: light-dark(#ffdcd9, #4a1512); }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff, #0d1117); color: light-dark(#1f2328, #e6edf3); }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; } caption { text-align: left; padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; white-space: nowrap; }
td button { all: unset; cursor: pointer; text-decoration: underline dotted; }
:focus-visible, td button:focus-visible { outline: 2px solid light-dark(#0969da, #4493f8); outline-offset: 2px; }
.good { background: var(--good); } .fair { background: var(--fair); } .bad { background: var(--bad); }
.remark { border-left: 4px solid var(--line); padding-left: .8rem; }
form { display: flex; flex-wrap: wrap; gap: .8rem; align-items: end; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; } .kind { font-weight: 600; }
pre { background: var(--soft); padding: .5rem; margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.expected { border-left: 4px solid #2da44e; } .actual { border-left: 4px solid #cf222e; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
`

/** Chooses among the failures: by the fields of the form, which a click into the matrix fills in. */
export const PAGE_SCRIPT = `
const form = document.querySelector('#filters')
if (form) {
  const all = [...document.querySelectorAll('#list details')].map((element) => ({
    element, text: element.textContent.toLowerCase(), tools: JSON.parse(element.dataset.tool) }))
  const fits = (wanted, value) => wanted === '*' || wanted === value
  const choose = () => {
    const { suite, model, tool, kind, text } = Object.fromEntries(new FormData(form))
    let shown = 0
    for (const { element, text: own, tools } of all) {
      const data = element.dataset
      element.hidden = !(fits(suite, data.suite) && fits(model, data.model) && fits(kind, data.kind) &&
        (tool === '*' || tools.includes(tool)) && own.includes(text.toLowerCase()))
      if (!element.hidden) shown++
    }
    document.querySelector('#shown').textContent = shown + ' of ' + all.length + ' shown'
  }
  form.addEventListener('input', choose)
  form.addEventListener('submit', (event) => event.preventDefault())
  form.addEventListener('reset', () => setTimeout(choose))
  for (const button of document.querySelectorAll('td button')) button.addEventListener('click', () => {
    form.reset()
    for (const name of ['suite', 'model', 'tool']) form.elements[name].value = button.dataset[name]
    choose()
    document.querySelector('#failures').focus()
  })
}
`
