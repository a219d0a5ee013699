/** @module Stories that were folded before go on from where they stand: a run is read once, and then only what is new. */
import { LRUCache } from 'lru-cache'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import { orRefused } from '../page.ts'
import { emptyStory, foldStory, type RunStory } from './run-story.ts'

/** What an event of a story takes in memory, rounded up. */
const EVENT_BYTES = 1_024
/** Longer runs are told by the part that is looked at. */
const WHOLE_STORY_MAX = 50_000

interface Stories {
  /** The whole run up to a revision that is known to be there. */
  whole(caller: Caller, run: string, revision: number): Promise<RunStory>
  /** From one revision to another, both included. */
  part(caller: Caller, run: string, range: { from: number; to: number }): Promise<RunStory>
}

/** The ledger that is read, and whose memory the stories are kept in. */
export interface StoryDeps {
  readonly ledger: Pick<Ledger, 'runEvents'>
  readonly memory: MemoryBudget
}

const ofLedger = new WeakMap<object, Stories>()

/** The whole story where the run is not too long for one, else that of a window. */
export function storyFor(
  { ledger, memory }: StoryDeps,
  caller: Caller,
  { run, revision, window }: { run: string; revision: number; window: { from: number; to: number } },
): Promise<RunStory> {
  const stories = storiesOf({ ledger, memory })
  return revision < WHOLE_STORY_MAX ? stories.whole(caller, run, revision) : stories.part(caller, run, window)
}

/** One cache a ledger. */
function storiesOf({ ledger, memory }: StoryDeps): Stories {
  const known = ofLedger.get(ledger) ?? createStories({ ledger, memory })
  ofLedger.set(ledger, known)
  return known
}

function createStories({ ledger, memory }: StoryDeps): Stories {
  const maxBytes = memory.limitOf('stories')
  const current = new LRUCache<string, { story: RunStory; folding: Promise<void> }>({ maxSize: maxBytes })
  memory.watch('stories', () => current.calculatedSize)
  const keep = (name: string, entry: { story: RunStory; folding: Promise<void> }): void => {
    // Set anew, since a story grows: the cache weighs what it is given once.
    current.delete(name)
    current.set(name, entry, { size: Math.min(maxBytes, EVENT_BYTES * Math.max(1, entry.story.next)) })
  }
  const read = async (caller: Caller, story: RunStory, range: { run: string; to: number }): Promise<void> => {
    if (story.next > range.to) return
    const found = orRefused(await ledger.runEvents(caller, range.run, { from: story.next, to: range.to }))
    for await (const page of found) foldStory(story, page)
  }
  return {
    whole: async (caller, run, revision) => {
      const name = `${caller.tenant} ${run}`
      const entry = current.get(name) ?? { story: emptyStory(), folding: Promise.resolve() }
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
