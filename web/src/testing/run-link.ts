/** The URL of the Testing page with a query and a model; `run` is the run to compare with. */
export function testingAddress(query: string, model: string, run: string): string {
  return `/tools-testing?${new URLSearchParams({ query, model, run })}`
}
