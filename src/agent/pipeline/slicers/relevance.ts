/** @module The slicer that prefers content relevant to a query, by embedding vectors or by words (BM25). */
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { AgentError } from '../../errors.ts'
import type { Slicer } from '../slice.ts'

/** Returns one vector per text, in order. */
export type Embed = (texts: readonly string[]) => PromiseLike<readonly (readonly number[])[]>

/** The query of a slice, and the embedder for the comparison. */
export interface RelevanceOptions {
  /** Default: the task of the agent's manifest. */
  readonly query?: string
  /** Without an embedder, words are compared. */
  readonly embed?: Embed
}

/**
 * Top-level keys ordered by the similarity of key and value to the query; ties and keys without a match are ordered by latest change. Throws `missing-query`
 * and `invalid-embedding`.
 * @example
 * ```ts
 * import { byRelevance, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * await cs.run({ name: 'report' }, async (run) => {
 *   await run.step('researcher', () => ({ revenue: 'grew by a tenth', weather: 'rain in Oslo' }))
 *   const slice = byRelevance({ query: 'how did revenue grow' })
 *   const { shown } = await run.step('writer', () => ({ summary: 'growth' }), { slice })
 *   console.log(shown.keys[0]) // revenue
 * })
 * ```
 */
export function byRelevance({ query, embed }: RelevanceOptions = {}): Slicer {
  return async (context, { task, recency, agent }) => {
    const request = query ?? task
    if (request === undefined || request.trim() === '') {
      throw new AgentError('missing-query', `a slice by relevance needs a query, or a manifest of ${agent} with a task`)
    }
    const texts = recency.map((key) => `${key} ${wordsOf(context[key] as Json)}`)
    const scores = embed === undefined ? await wordScores(request, texts) : await cosines(request, texts, embed)
    const ranked = recency.map((key, place) => ({ key, place, score: scores[place] ?? 0 }))
    return ranked.sort((a, b) => b.score - a.score || a.place - b.place).map(({ key }) => key)
  }
}

/** BM25 as computed by `minisearch`. */
async function wordScores(query: string, texts: readonly string[]): Promise<number[]> {
  const { default: MiniSearch } = await import('minisearch').catch((cause: unknown) => {
    const advice = 'byRelevance without an embedder needs the package minisearch: npm install minisearch'
    throw new AgentError('package-missing', advice, { cause: String(cause) })
  })
  const index = new MiniSearch({ fields: ['text'] })
  index.addAll(texts.map((text, id) => ({ id, text })))
  const scores = texts.map(() => 0)
  for (const { id, score } of index.search(query)) scores[Number(id)] = score
  return scores
}

async function cosines(query: string, texts: readonly string[], embed: Embed): Promise<number[]> {
  if (texts.length === 0) return []
  const [request = [], ...vectors] = await embed([query, ...texts])
  if (vectors.length !== texts.length) {
    throw invalid(`${vectors.length + 1} vectors for ${texts.length + 1} texts`)
  }
  return vectors.map((vector) => cosine(request, vector))
}

/** 0 if one vector is all zeros. */
function cosine(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) throw invalid(`vectors of ${a.length} and ${b.length} numbers`)
  const lengths = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b))
  if (!Number.isFinite(lengths)) throw invalid('a vector that is not made of numbers')
  return lengths === 0 ? 0 : dot(a, b) / lengths
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0)
}

function invalid(what: string): AgentError {
  return new AgentError('invalid-embedding', `the embedder gave ${what}`)
}

function wordsOf(value: Json): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value)
    ? value.map(wordsOf).join(' ')
    : Object.entries(value as JsonObject)
        .map(([key, member]) => `${key} ${wordsOf(member)}`)
        .join(' ')
}
