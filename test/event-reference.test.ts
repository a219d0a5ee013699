import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import * as catalogue from '../schemas/events.ts'
import { ROOT } from './support/source-root.ts'

const test = suite('the event reference')

test('docs/events.md and docs/events.schema.json are what the catalogue says now (node scripts/event-reference.mjs)', async () => {
  const script = await import(pathToFileURL(join(ROOT, 'scripts/event-reference.mjs')).href)
  const made: Readonly<Record<string, string>> = script.eventReference(catalogue)
  assert.is(Object.keys(made).length, 2)
  for (const [file, text] of Object.entries(made)) assert.is(readFileSync(join(ROOT, file), 'utf8'), text, file)
  for (const type of Object.keys(catalogue.EVENTS)) assert.ok(made['docs/events.md']?.includes(`\n## ${type}\n`), type)
})

test.run()
