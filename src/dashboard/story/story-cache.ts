/** @module Stories that were folded before go on from where they stand: a run is read once, and then only what is new. */
import { LRUCache } from 'lru-cache'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import { weigh } from '../../resources/memory-budget.ts'
import { orRefused } from '../page.ts'
import { emptyStory, foldStory } from './run-story.ts'
import type { RunStory } from './story-parts.ts'

/** What an empty story takes, and an event of one beside its mark and its span. */
const STORY_BYTES = 4_096
const EVENT_BYTES = 256
/** Longer runs are shown by the part that is looked at. */
const WHOLE_STORY_MAX = 50_000

interface Entry {
  readonly story: RunStory
  folding: Promise<void>
  /** What it took when it was weighed, and how much of it that was. */
  bytes: number
  readonly weighed: { events: number; marks: number; spans: number }
}

function newEntry(): Entry {
  const weighed = { events: 0, marks: 0, spans: 0 }
  return { story: emptyStory(), folding: Promise.resolve(), bytes: STORY_BYTES, weighed }
}

/** Each mark and each span is walked once, however often the story goes on. */
function weighNew(entry: Entry): void {
  const { story, weighed } = entry
  const { marks, spans, next } = story
  for (const mark of marks.slice(weighed.marks)) entry.bytes += weigh(mark)
  for (const span of spans.slice(weighed.spans)) entry.bytes += weigh(span)
  entry.bytes += EVENT_BYTES * (next - weighed.events)
  Object.assign(weighed, { events: next, marks: marks.length, spans: spans.length })
}

interface Stories {
  /** The whole run up to a revision that is known to be there. */
  whole(caller: Caller, run: string, revision: number): Promise<RunStory>
  /** From one revision to another, both included. */
  part(caller: Caller, run: string, range: { from: number; to: number }): Promise<RunStory>
}

/** The ledger that is read, and whose memory the stories take. */
export interface StoryDeps {
  readonly ledger: Pick<Ledger, 'runEvents'>
  readonly memory: MemoryBudget
}

const ofLedger = new WeakMap<object, Stories>()

export interface StoryOf {
  readonly run: string
  /** Of the last event that counts. */
  readonly revision: number
  readonly window: { readonly from: number; readonly to: number }
  /** Later events are left out: the story is folded for this page alone. */
  readonly isPast?: boolean
}

/** The whole story where the run is not too long for one, else that of a window. */
export function storyFor(
  { ledger, memory }: StoryDeps,
  caller: Caller,
  { run, revision, window, isPast = false }: StoryOf,
): Promise<RunStory> {
  const stories = storiesOf({ ledger, memory })
  if (revision >= WHOLE_STORY_MAX) return stories.part(caller, run, window)
  return isPast ? stories.part(caller, run, { from: 0, to: revision }) : stories.whole(caller, run, revision)
}

/** One cache a ledger. */
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
    // Set anew, since a story grows: the cache weighs what it receives once.
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
      // One after another: two that fold at once would fold the same events twice.
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
