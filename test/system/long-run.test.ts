import { suite } from 'uvu'
import { readLongRun } from '../support/long-run.ts'

const test = suite('a long run in little memory')

test('a run of 4,000 events is written, exported and replayed whole by a server of 128 MB (F26)', async () => {
  await readLongRun({ events: 4_000 })
})

test.run()
