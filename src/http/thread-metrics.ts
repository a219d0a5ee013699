/** @module Metrics of the reader and indexing threads; all values are 0 if there are none. */
import type { Registry } from 'prom-client'
import type { IndexingStats, IndexingThread } from '../indexing/indexing-thread.ts'
import type { ReaderStats, ReaderThreads } from '../read-workers/reader-threads.ts'
import { counter, gauge } from './registered.ts'

export interface Threads {
  readonly readers?: Pick<ReaderThreads, 'stats'> | undefined
  readonly indexing?: Pick<IndexingThread, 'stats'> | undefined
}

export function registerThreads(registry: Registry, { readers, indexing }: Threads): void {
  registerReaders(registry, readers)
  registerIndexing(registry, indexing)
}

function registerReaders(registry: Registry, readers: Threads['readers']): void {
  const stats = (): ReaderStats => readers?.stats() ?? { threads: 0, bodies: 0, heapBytes: 0, deaths: 0 }
  gauge(
    registry,
    'reader_threads',
    'Threads that make exports, bundles and replays; 0: the one that writes makes them.',
    () => stats().threads,
  )
  gauge(registry, 'reader_exports', 'Exports, bundles and replays that they are making.', () => stats().bodies)
  gauge(registry, 'reader_heap_bytes', 'Heaps of these threads.', () => stats().heapBytes)
  counter(registry, 'reader_deaths_total', 'Ends of such a thread that nobody asked for.', () => stats().deaths)
}

function registerIndexing(registry: Registry, indexing: Threads['indexing']): void {
  const stats = (): IndexingStats => indexing?.stats() ?? { threads: 0, heapBytes: 0, deaths: 0 }
  gauge(
    registry,
    'indexing_threads',
    'Threads that write the files that follow the store; 0: the one that writes the store writes them.',
    () => stats().threads,
  )
  gauge(registry, 'indexing_heap_bytes', 'Heap of this thread.', () => stats().heapBytes)
  counter(registry, 'indexing_deaths_total', 'Ends of this thread that nobody asked for.', () => stats().deaths)
}
