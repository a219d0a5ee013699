import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/source-root.ts'

const test = suite('the pages of the packages')
const PAGES = { '': 'README.md', docs: 'docs/client.md' }
const HOME = 'https://git.example/countersign/countersign'
const TARGETS = /\]\(([^)\s]+)\)/g

interface Links {
  readonly commit: string
  readonly folder: string
  readonly home?: string
}

const linked = async (): Promise<(text: string, links: Links) => string> =>
  (await import(pathToFileURL(join(ROOT, 'scripts/npm-page.mjs')).href)).linkedFor

for (const [folder, page] of Object.entries(PAGES)) {
  const text = readFileSync(join(ROOT, page), 'utf8')

  test(`as published, every link and image of ${page} leads to a file of its commit (A148)`, async () => {
    const made = (await linked())(text, { commit: 'c0ffee', folder, home: HOME })
    const targets = [...made.matchAll(TARGETS)].map(([, target = '']) => target)
    assert.is(targets.length, [...text.matchAll(TARGETS)].length)
    for (const target of targets) {
      assert.match(target, /^(https?:|#)/)
      const file = new RegExp(`^${HOME}/(?:blob|raw)/c0ffee/([^#]+)`).exec(target)?.[1]
      if (file !== undefined) assert.ok(existsSync(join(ROOT, file)), target)
    }
  })

  test(`published from nowhere on the web, ${page} has no link that leads nowhere`, async () => {
    const made = (await linked())(text, { commit: 'c0ffee', folder })
    for (const [, target = ''] of made.matchAll(TARGETS)) assert.match(target, /^([a-z]+:|#)/)
  })
}

test.run()
