import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/source-root.ts'
import { tempFolder } from './support/temp-folder.ts'

const test = suite('documents as a site')
const SITE = join(ROOT, 'tools/site')
const IS_INSTALLED = existsSync(join(SITE, 'node_modules'))
const claim = IS_INSTALLED ? test : test.skip
if (!IS_INSTALLED) console.log('skipped: the site of the documents, run npm ci --prefix tools/site')

claim('each document is a page with its headings, and no link of it leads nowhere (A561)', async () => {
  using folder = tempFolder()
  const vitepress = join(SITE, 'node_modules/vitepress/bin/vitepress.js')
  await promisify(execFile)(process.execPath, [vitepress, 'build', SITE, '--outDir', folder.path], { cwd: SITE })
  const documents = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  const sources = documents.filter((file) => file.endsWith('.md')).map((file) => join('docs', file))
  const pages = new Map([
    ['README.md', 'index.html'],
    ...sources.map((file) => [file, file.replace(/md$/, 'html')] as const),
  ])
  for (const [source, page] of pages) {
    const text = readFileSync(join(ROOT, source), 'utf8').replace(/^```.*?^```/gms, '')
    const html = readFileSync(join(folder.path, page), 'utf8')
    assert.is(html.match(/<h2 id=/g)?.length ?? 0, text.match(/^## /gm)?.length ?? 0, source)
  }
})

test.run()
