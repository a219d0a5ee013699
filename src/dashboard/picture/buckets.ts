/** @module A whole run in at most `most` buckets, each a whole number of windows or a part of one, counted in one pass. */
import type { RunStory } from '../story/story-parts.ts'

export interface Bucket {
  /** First and last revision, both included. */
  readonly from: number
  readonly to: number
  events: number
  rejected: number
  failed: number
}

export function bucketsOf(
  story: Pick<RunStory, 'marks' | 'spans' | 'next'>,
  { most, window }: { readonly most: number; readonly window: number },
): readonly Bucket[] {
  const { next } = story
  const size = next / window >= most ? Math.ceil(next / most / window) * window : Math.max(1, Math.ceil(next / most))
  const buckets: Bucket[] = Array.from({ length: Math.ceil(next / size) }, (_, index) => ({
    from: index * size,
    to: Math.min(next, (index + 1) * size) - 1,
    events: 0,
    rejected: 0,
    failed: 0,
  }))
  for (const { revision, kind } of story.marks) {
    const bucket = buckets[Math.floor(revision / size)]
    if (bucket === undefined) continue
    bucket.events += 1
    if (kind === 'rejected' || kind === 'refused') bucket.rejected += 1
  }
  for (const { from, status } of story.spans) {
    const bucket = buckets[Math.floor(from / size)]
    if (bucket === undefined) continue
    bucket.events += 1
    if (status === 'failed' || status === 'in-doubt') bucket.failed += 1
  }
  return buckets
}
