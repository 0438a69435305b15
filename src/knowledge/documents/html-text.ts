import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2'
import { HtmlTables, MarkdownWriter } from './markdown-writer.ts'

const HEADING = /^h[1-6]$/
const MAX_INDENT = 4
const MAX_LIST_DEPTH = 100
const LISTS = new Set(['ul', 'ol', 'menu'])
const STOP_CHARACTERS = 4096
/** Without a block for this many characters, a line break becomes a stop. */
const LONG_CHARACTERS = 100_000
const HIDING_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i
const ATTRIBUTES = new Set(['hidden', 'style', 'aria-hidden', 'alt', 'open'])
const MAX_TITLE = 300

/** The state for continuing in the middle of a page. */
interface HtmlState {
  /** Up to `MAX_LIST_DEPTH`. */
  readonly lists: readonly { readonly ordered: boolean; readonly items: number }[]
  /** The number of further open lists. */
  readonly deeper: number
  readonly inTable: boolean
}

/** A position at which reading can continue in another call. */
interface HtmlStop {
  readonly at: number
  /** The length of the text up to there. */
  readonly length: number
  readonly state: HtmlState
}

/** Converts HTML to Markdown from tokens, without a tree: time and memory don't depend on the nesting depth. */
export class HtmlText implements TokenizerCallbacks {
  title = ''
  stop: HtmlStop | undefined
  readonly #html: string
  readonly #page = new MarkdownWriter()
  readonly #tables: HtmlTables
  readonly #lists: { ordered: boolean; items: number }[]
  #deeper: number
  #hidden: HiddenPart | undefined
  #pre: string[] | undefined
  #inTitle = false
  #tag = ''
  #tagStart = 0
  #attribute = ''
  #attributes = new Map<string, string>()

  /** `state` is the state at the last stop, if the HTML is a later part of a page. */
  constructor(html: string, state?: HtmlState) {
    this.#html = html
    this.#lists = state?.lists.map((list) => ({ ...list })) ?? []
    this.#deeper = state?.deeper ?? 0
    this.#tables = new HtmlTables(this.#page, state?.inTable ?? false)
    const tokenizer = new Tokenizer({ decodeEntities: true }, this)
    tokenizer.write(html)
    tokenizer.end()
  }

  get text(): string {
    return this.#page.toString()
  }

  ontext(start: number, end: number): void {
    this.#text(this.#html.slice(start, end))
  }

  ontextentity(codepoint: number): void {
    this.#text(String.fromCodePoint(codepoint))
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}

  onopentagname(start: number, end: number): void {
    this.#tag = this.#html.slice(start, end).toLowerCase()
    this.#tagStart = start - 1
    this.#attributes.clear()
  }

  onattribname(start: number, end: number): void {
    this.#attribute = this.#html.slice(start, end).toLowerCase()
    if (ATTRIBUTES.has(this.#attribute)) this.#attributes.set(this.#attribute, '')
  }

  onattribdata(start: number, end: number): void {
    this.#attributeText(this.#html.slice(start, end))
  }

  onattribentity(codepoint: number): void {
    this.#attributeText(String.fromCodePoint(codepoint))
  }

  onattribend(): void {}

  onopentagend(): void {
    this.#open(this.#tag)
  }

  onselfclosingtag(): void {
    this.#open(this.#tag)
    // Only foreign elements can close themselves.
    if (this.#tag === 'svg' && this.#hidden?.endsWith('svg') === 'itself') this.#hidden = undefined
  }

  onclosetag(start: number, end: number): void {
    this.#close(this.#html.slice(start, end).toLowerCase())
  }

  onend(): void {
    this.#endPre()
    this.#tables.endAll()
    this.#page.block()
    this.title = this.title.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TITLE)
  }

  #attributeText(text: string): void {
    const known = this.#attributes.get(this.#attribute)
    if (known !== undefined) this.#attributes.set(this.#attribute, known + text)
  }

  #text(text: string): void {
    if (this.#inTitle) {
      if (this.title.length < MAX_TITLE) this.title += text
    } else if (this.#hidden === undefined) {
      if (this.#pre === undefined) this.#tables.writer.text(text)
      else this.#pre.push(text)
    }
  }

  #open(tag: string): void {
    if (this.#hidden !== undefined) {
      if (!this.#hidden.endsBefore(tag)) return
      this.#hidden = undefined
    }
    if (tag === 'title') this.#inTitle = this.title === ''
    if (this.#isHidden(tag)) {
      if (!VOID.has(tag)) this.#hidden = new HiddenPart(tag)
    } else if (this.#pre === undefined) {
      this.#mark(tag)
      this.#begin(tag)
    } else if (tag === 'br') this.#pre.push('\n')
  }

  /** Records a stop before this tag if possible: between blocks, or between rows of one table. */
  #mark(tag: string): void {
    const { depth } = this.#tables
    const passed = this.#tagStart - (this.stop?.at ?? 0)
    if (passed < STOP_CHARACTERS) return
    const isBreak = isBlock(tag) || (tag === 'br' && passed >= LONG_CHARACTERS)
    if (depth === 0 ? !isBreak : depth > 1 || tag !== 'tr') return
    this.#tables.settle()
    this.#page.block()
    const state = { lists: this.#lists.map((list) => ({ ...list })), deeper: this.#deeper, inTable: depth === 1 }
    this.stop = { at: this.#tagStart, length: this.#page.length, state }
  }

  #isHidden(tag: string): boolean {
    if (DROPPED.has(tag) || this.#attributes.has('hidden')) return true
    if (this.#attributes.get('aria-hidden') === 'true') return true
    if (tag === 'dialog' && !this.#attributes.has('open')) return true
    return HIDING_STYLE.test(this.#attributes.get('style') ?? '')
  }

  #begin(tag: string): void {
    const { writer } = this.#tables
    if (tag === 'br') writer.lineBreak()
    else if (tag === 'img') writer.text(` ${this.#attributes.get('alt') ?? ''} `)
    else if (HEADING.test(tag)) writer.block(`${'#'.repeat(Number(tag[1]))} `, true)
    else if (tag === 'li') writer.block(this.#marker())
    else if (this.#tables.opens(tag)) return
    else if (isBlock(tag)) {
      writer.block()
      if (tag === 'pre') this.#pre = []
      if (!LISTS.has(tag)) return
      if (this.#lists.length < MAX_LIST_DEPTH) this.#lists.push({ ordered: tag === 'ol', items: 0 })
      else this.#deeper++
    }
  }

  #close(tag: string): void {
    if (tag === 'title') this.#inTitle = false
    if (this.#hidden !== undefined) {
      const ends = this.#hidden.endsWith(tag)
      if (ends !== 'no') this.#hidden = undefined
      if (ends !== 'around') return
    }
    if (this.#pre !== undefined) {
      // The end of any container ends it, too.
      if (CONTAINERS.has(tag)) this.#endPre()
      if (tag === 'pre' || this.#pre !== undefined) return
    }
    if (this.#tables.closes(tag)) return
    if (isBlock(tag)) this.#tables.writer.block()
    if (!LISTS.has(tag)) return
    if (this.#deeper > 0) this.#deeper--
    else this.#lists.pop()
  }

  #marker(): string {
    const list = this.#lists.at(-1)
    const indent = '  '.repeat(Math.min(Math.max(this.#lists.length - 1, 0), MAX_INDENT))
    if (list === undefined || !list.ordered) return `${indent}- `
    return `${indent}${++list.items}. `
  }

  #endPre(): void {
    if (this.#pre === undefined) return
    const code = this.#pre.join('').replace(/^\n/, '').trimEnd()
    this.#pre = undefined
    if (code === '') return
    const ticks = code.match(/`{3,}/g) ?? []
    const fence = '`'.repeat(ticks.reduce((longest, run) => Math.max(longest, run.length + 1), 3))
    this.#tables.writer.raw(`${fence}\n${code}\n${fence}`)
  }
}

const isBlock = (tag: string): boolean => BLOCKS.has(tag) || CONTAINERS.has(tag) || HEADING.test(tag)

const names = (list: string): ReadonlySet<string> => new Set(list.split(' '))

/** Elements without visible text. */
const DROPPED = names(
  'script style nav noscript template svg iframe object embed canvas audio video select datalist map noembed noframes',
)

const VOID = names('area base br col embed hr img input link meta param source track wbr basefont frame bgsound')

/** Block elements that need an end tag. */
const CONTAINERS = names(
  'address article aside blockquote body center details dialog div dl fieldset figure footer form header hgroup html ' +
    'main menu nav ol pre search section table ul',
)

/** Further elements that begin and end a block. */
const BLOCKS = names('caption dd dt figcaption hr legend li optgroup option p summary tbody td tfoot th thead tr')

/** Elements with optional end tags, and the tags that end them. `*` means any block. */
const ENDED_BY: Readonly<Record<string, ReadonlySet<string>>> = {
  p: names('*'),
  li: names('li'),
  dt: names('dt dd'),
  dd: names('dt dd'),
  tr: names('tr tbody tfoot'),
  td: names('td th tr tbody tfoot'),
  th: names('td th tr tbody tfoot'),
}

/** Finds the end of a hidden element, also if end tags are missing. */
class HiddenPart {
  readonly #name: string
  /** Open inner elements that are counted: containers, and elements of the same name. */
  #inner = 0

  constructor(name: string) {
    this.#name = name
  }

  /** Whether the opening tag ends the hidden part. */
  endsBefore(tag: string): boolean {
    const enders = ENDED_BY[this.#name]
    if (this.#inner === 0 && enders !== undefined) {
      if (enders.has(tag) || (enders.has('*') && (BLOCKS.has(tag) || CONTAINERS.has(tag)))) return true
    }
    if (this.#counts(tag)) this.#inner++
    return false
  }

  /** Whether a closing tag ends the hidden part: `itself`, the element `around` it, or `no`. */
  endsWith(tag: string): 'itself' | 'around' | 'no' {
    if (tag === this.#name && this.#inner === 0) return 'itself'
    if (!this.#counts(tag)) return 'no'
    if (this.#inner === 0) return 'around'
    this.#inner--
    return 'no'
  }

  #counts(tag: string): boolean {
    return CONTAINERS.has(tag) || (tag === this.#name && ENDED_BY[tag] === undefined)
  }
}

export interface HtmlParams {
  readonly html: string
  readonly state?: HtmlState
  readonly last: boolean
}

export interface HtmlPart {
  readonly title: string
  readonly text: string
  /** Characters of `html` that the text covers; 0 if there was no stop. */
  readonly used: number
  readonly state?: HtmlState
}

/** The size limit of a response: the channel takes 2 MB. */
const ANSWER_BYTES = 1_900_000

export function extractHtml({ html, state, last }: HtmlParams): HtmlPart {
  const page = new HtmlText(html, state)
  const part = { title: page.title, ...partOf(page, html.length, last) }
  if (Buffer.byteLength(JSON.stringify(part)) <= ANSWER_BYTES) return part
  throw Object.assign(new Error('it has too much text without a paragraph'), { code: 'HTML_TOO_LARGE' })
}

function partOf({ text, stop }: HtmlText, length: number, last: boolean): Omit<HtmlPart, 'title'> {
  if (last) return { text, used: length }
  if (stop === undefined) return { text: '', used: 0 }
  return { text: text.slice(0, stop.length), used: stop.at, state: stop.state }
}
