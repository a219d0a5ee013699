/**
 * @module Definitions that tools give of themselves. A model follows tool descriptions, so a changed description changes the agent's behaviour: the digest of
 * all definitions is recorded whenever it changes, and if it is pinned, other definitions are not shown.
 */

import { DEFINITIONS_MAX } from '../../schemas/capture.ts'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { canonicalJson } from '../signing/canonical-json.ts'
import { textDigest } from '../signing/digests.ts'

export interface Definitions {
  /** Digest over the JCS of all definitions, sorted by name, so that a different order is not a change. */
  readonly digest: string
  readonly count: number
  /** The first `DEFINITIONS_MAX` of them, by name. */
  readonly tools: readonly { readonly name: string; readonly digest: string }[]
}

/** Computes the definitions of a complete list; returns an error text if it cannot be digested exactly. */
export function definitionsOf(tools: readonly Json[]): Definitions | string {
  try {
    const named = tools.filter(isJsonObject).map((tool) => ({ name: String(tool.name), text: canonicalJson(tool) }))
    const sorted = named
      .sort((a, b) => (a.text < b.text ? -1 : 1))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    return {
      digest: textDigest(`[${sorted.map(({ text }) => text).join(',')}]`),
      count: sorted.length,
      tools: sorted
        .slice(0, DEFINITIONS_MAX)
        .map(({ name, text }) => ({ name: name.slice(0, 256), digest: textDigest(text) })),
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

export type Seen =
  /** More pages follow. */
  | { readonly kind: 'part' }
  | { readonly kind: 'same' }
  | { readonly kind: 'new'; readonly definitions: Definitions }
  | { readonly kind: 'refused'; readonly text: string; readonly definitions?: Definitions }

/** A list may arrive in pages; it is evaluated after the last one. */
export class DefinitionsSeen {
  readonly #pin: string | undefined
  #pages: Json[] = []
  #last: string | undefined

  constructor(pin: string | undefined) {
    this.#pin = pin
  }

  page(result: JsonObject, isFirst: boolean): Seen {
    if (isFirst) this.#pages = []
    if (Array.isArray(result.tools)) this.#pages.push(...(result.tools as readonly Json[]))
    if (typeof result.nextCursor === 'string') return { kind: 'part' }
    const pages = this.#pages
    this.#pages = []
    const seen = this.judged(pages)
    if (seen.kind === 'new') this.#last = seen.definitions.digest
    return seen
  }

  /** Judges a complete list that the host does not see. */
  judged(tools: readonly Json[]): Seen {
    const definitions = definitionsOf(tools)
    if (typeof definitions === 'string')
      return this.#pin === undefined ? { kind: 'same' } : this.#refused(`they cannot be digested (${definitions})`)
    if (this.#pin !== undefined && definitions.digest !== this.#pin)
      return this.#refused(`their digest is ${definitions.digest}, not ${this.#pin}`, definitions)
    return definitions.digest === this.#last ? { kind: 'same' } : { kind: 'new', definitions }
  }

  /** The definitions could not be recorded, so the next list counts as new. */
  forget(): void {
    this.#last = undefined
  }

  #refused(why: string, definitions?: Definitions): Seen {
    const text = `the definitions of the tools are not those that were pinned (${why}): compare them, and pin the new digest with --pin if they are right`
    return { kind: 'refused', text, ...(definitions !== undefined && { definitions }) }
  }
}
