export interface Point {
  readonly x: number
  readonly y: number
}

/** How much `y` grows with each `x`, by least squares. */
export function slope(points: readonly Point[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [middleX, middleY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))]
  let [together, alone] = [0, 0]
  for (const { x, y } of points) {
    together += (x - middleX) * (y - middleY)
    alone += (x - middleX) ** 2
  }
  return together / alone
}
