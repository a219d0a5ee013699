import { suite } from 'uvu'
import { readLongRun } from '../support/long-run.ts'
import { rounds } from '../support/rounds.ts'

const test = suite('a very long run in little memory')

/** Each is about a kilobyte: a third of them is more than the server has memory for, too. */
const EVENTS = rounds(60_000, 60_000, 200_000)

test(`a run of ${EVENTS} events is written, exported and replayed whole by a server of 128 MB (F26)`, async () => {
  await readLongRun({ events: EVENTS })
})

test.run()
