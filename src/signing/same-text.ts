/** @module Two texts compared in a time that says nothing of where they differ: a mac, a secret. */
import { timingSafeEqual } from 'node:crypto'

export function sameText(value: string, expected: string): boolean {
  const [a, b] = [Buffer.from(value), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
