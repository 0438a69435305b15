const names = (list: string): ReadonlySet<string> => new Set(list.split(' '))

/** Elements whose content is no text of the page, or is not shown. */
export const DROPPED = names(
  'script style nav noscript template svg iframe object embed canvas audio video select datalist map noembed noframes',
)

/** Elements without content. */
export const VOID = names('area base br col embed hr img input link meta param source track wbr basefont frame bgsound')

/** Elements that begin and end a block, and that nobody may leave open. */
export const CONTAINERS = names(
  'address article aside blockquote body center details dialog div dl fieldset figure footer form header hgroup html ' +
    'main menu nav ol pre search section table ul',
)

/** Further elements that begin and end a block. */
export const BLOCKS = names(
  'caption dd dt figcaption hr legend li optgroup option p summary tbody td tfoot th thead tr',
)

/** For elements whose end is often left out: what ends them besides their own end tag. `*` is any block. */
export const ENDED_BY: Readonly<Record<string, ReadonlySet<string>>> = {
  p: names('*'),
  li: names('li'),
  dt: names('dt dd'),
  dd: names('dt dd'),
  tr: names('tr tbody tfoot'),
  td: names('td th tr tbody tfoot'),
  th: names('td th tr tbody tfoot'),
}
