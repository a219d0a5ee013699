/** @module Test vectors, read from the sources: compiled tests run from the root of the project. */
import { readFileSync } from 'node:fs'

export function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(`test/vectors/${name}`, 'utf8')) as T
}
