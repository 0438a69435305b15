interface Asked {
  readonly tool: string
  readonly params: Readonly<Record<string, unknown>>
  /** The URL of the server. */
  readonly url: string
  /** Whether the server needs a key, which is never shown. */
  readonly withKey: boolean
}

interface Snippet {
  readonly title: string
  readonly text: string
}

/** A call as code. */
export const snippets = (asked: Asked): Snippet[] => [
  { title: 'curl', text: curl(asked) },
  { title: 'TypeScript', text: typescript(asked) },
  { title: 'Python', text: python(asked) },
  { title: 'CLI', text: `npx toolyard exec ${quoted(asked.tool)} ${quoted(JSON.stringify(asked.params))}` },
]

function curl({ tool, params, url, withKey }: Asked): string {
  const key = withKey ? ` \\\n  -H "Authorization: Bearer $TOOLYARD_KEY"` : ''
  const body = JSON.stringify({ tool_name: tool, params })
  return `curl -s ${url}/tools/execute -H 'Content-Type: application/json'${key} \\\n  -d ${quoted(body)}`
}

function typescript({ tool, params, url, withKey }: Asked): string {
  const key = withKey ? ', authorization: `Bearer ${process.env.TOOLYARD_KEY}`' : ''
  const body = JSON.stringify({ tool_name: tool, params }, null, 2).replaceAll('\n', '\n  ')
  return [
    `const response = await fetch(${JSON.stringify(`${url}/tools/execute`)}, {`,
    "  method: 'POST',",
    `  headers: { 'content-type': 'application/json'${key} },`,
    `  body: JSON.stringify(${body}),`,
    '})',
    'const result = await response.json()',
    'console.log(result.success ? result.result : result.error)',
  ].join('\n')
}

/** Needs no package. A JSON string is a Python string, too. */
function python({ tool, params, url, withKey }: Asked): string {
  const key = withKey ? `, "Authorization": f"Bearer {os.environ['TOOLYARD_KEY']}"` : ''
  return [
    `import json${withKey ? ', os' : ''}, urllib.error, urllib.request`,
    '',
    `body = ${JSON.stringify(JSON.stringify({ tool_name: tool, params }))}`,
    'request = urllib.request.Request(',
    `    ${JSON.stringify(`${url}/tools/execute`)},`,
    '    data=body.encode(),',
    `    headers={"Content-Type": "application/json"${key}},`,
    ')',
    'try:',
    '    with urllib.request.urlopen(request) as response:',
    '        result = json.load(response)',
    'except urllib.error.HTTPError as error:',
    '    result = json.load(error)',
    'print(result["result"] if result["success"] else result["error"])',
  ].join('\n')
}

/** Quotes text for a POSIX shell. */
const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
