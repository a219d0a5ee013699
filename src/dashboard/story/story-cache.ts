/** @module A cache of folded stories: a run is read once, and later only its new events are folded. */
import { LRUCache } from 'lru-cache'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import { weigh } from '../../resources/memory-budget.ts'
import { orRefused } from '../page.ts'
import { emptyStory, foldStory } from './run-story.ts'
import type { RunStory } from './story-parts.ts'

/** Estimated size of an empty story, and of an event in addition to its mark and span. */
const STORY_BYTES = 4_096
const EVENT_BYTES = 256
/** For longer runs, only the part that is viewed is folded. */
const WHOLE_STORY_MAX = 50_000

interface Entry {
  readonly story: RunStory
  folding: Promise<void>
  /** Estimated size at the last weighing, and the number of items that were weighed. */
  bytes: number
  readonly weighed: { events: number; marks: number; spans: number }
}

function newEntry(): Entry {
  const weighed = { events: 0, marks: 0, spans: 0 }
  return { story: emptyStory(), folding: Promise.resolve(), bytes: STORY_BYTES, weighed }
}

/** Weighs only new marks and spans, so that each is visited once. */
function weighNew(entry: Entry): void {
  const { story, weighed } = entry
  const { marks, spans, next } = story
  for (const mark of marks.slice(weighed.marks)) entry.bytes += weigh(mark)
  for (const span of spans.slice(weighed.spans)) entry.bytes += weigh(span)
  entry.bytes += EVENT_BYTES * (next - weighed.events)
  Object.assign(weighed, { events: next, marks: marks.length, spans: spans.length })
}

interface Stories {
  /** The whole run up to a revision that is known to exist. */
  whole(caller: Caller, run: string, revision: number): Promise<RunStory>
  /** The events from one revision to another, both included. */
  part(caller: Caller, run: string, range: { from: number; to: number }): Promise<RunStory>
}

/** The ledger to read, and the memory budget of the stories. */
export interface StoryDeps {
  readonly ledger: Pick<Ledger, 'runEvents'>
  readonly memory: MemoryBudget
}

const ofLedger = new WeakMap<object, Stories>()

export interface StoryOf {
  readonly run: string
  /** Revision of the last event to include. */
  readonly revision: number
  readonly window: { readonly from: number; readonly to: number }
  /** Later events exist but are left out: the story is folded for this page only. */
  readonly isPast?: boolean
}

/** The whole story unless the run is too long for that; otherwise the story of a window. */
export function storyFor(
  { ledger, memory }: StoryDeps,
  caller: Caller,
  { run, revision, window, isPast = false }: StoryOf,
): Promise<RunStory> {
  const stories = storiesOf({ ledger, memory })
  if (revision >= WHOLE_STORY_MAX) return stories.part(caller, run, window)
  return isPast ? stories.part(caller, run, { from: 0, to: revision }) : stories.whole(caller, run, revision)
}

/** One cache per ledger. */
function storiesOf({ ledger, memory }: StoryDeps): Stories {
  const known = ofLedger.get(ledger) ?? createStories({ ledger, memory })
  ofLedger.set(ledger, known)
  return known
}

function createStories({ ledger, memory }: StoryDeps): Stories {
  const maxBytes = memory.limitOf('stories')
  const current = new LRUCache<string, Entry>({ maxSize: maxBytes })
  memory.watch('stories', () => current.calculatedSize)
  const keep = (name: string, entry: Entry): void => {
    weighNew(entry)
    // Set again, because a story grows: the cache records the size only on insertion.
    current.delete(name)
    current.set(name, entry, { size: Math.min(maxBytes, entry.bytes) })
  }
  const read = async (caller: Caller, story: RunStory, range: { run: string; to: number }): Promise<void> => {
    if (story.next > range.to) return
    const found = orRefused(await ledger.runEvents(caller, range.run, { from: story.next, to: range.to }))
    for await (const page of found) foldStory(story, page)
  }
  return {
    whole: async (caller, run, revision) => {
      const name = `${caller.tenant} ${run}`
      const entry = current.get(name) ?? newEntry()
      // Folds are serialized: two concurrent folds would fold the same events twice.
      entry.folding = entry.folding.catch(() => undefined).then(() => read(caller, entry.story, { run, to: revision }))
      try {
        await entry.folding
        keep(name, entry)
      } catch (error) {
        current.delete(name)
        throw error
      }
      return entry.story
    },
    part: async (caller, run, { from, to }) => {
      const story = emptyStory(from)
      await read(caller, story, { run, to })
      return story
    },
  }
}
