/** @module The envelope that all benches post: about 1 KiB, accepted after any other envelope of the same kind. */
import type { JsonObject } from '../schemas/json.ts'

const SOURCES = ['annual report', 'press release', 'analyst call']
const SUMMARY = 'Revenue grew faster than the market expected; the outlook for the next quarter is unchanged.'

/** Entities, facts and actions stay established; `n` and the notes differ for each number. */
function payloadOf(n: number): JsonObject {
  return {
    entities: ['Apple', 'Google', 'Microsoft', 'Amazon'],
    facts: SOURCES.map((source, i) => ({
      id: `f${i}`,
      name: `revenue ${2021 + i}`,
      value: `${383 + i} billion`,
      source,
    })),
    actions: [
      { id: 'a1', status: 'done', tool: 'search', args: { query: 'revenue 2023', limit: 10 } },
      { id: 'a2', status: 'pending', tool: 'compare', args: { left: 'Apple', right: 'Google' } },
    ],
    constraints: { currency: 'USD', deadline: '2024-12-31', 'max sources': 5 },
    notes: { n, ratio: n / 8, draft: n % 2 === 0, summary: `${n}: ${SUMMARY}`, authors: ['researcher', 'analyst'] },
  }
}

export function envelopeOf(n: number): { readonly agent: string; readonly payload: JsonObject } {
  return { agent: 'researcher', payload: payloadOf(n) }
}
