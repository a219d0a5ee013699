/** @module Constant-time comparison of two secret texts, such as MACs. */
import { timingSafeEqual } from 'node:crypto'

export function sameText(value: string, expected: string): boolean {
  const [a, b] = [Buffer.from(value), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
