// The README as it goes into a package: npm's page knows no file of the repository, so that links and images must name the commit they are of.
import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g

/** `folder`: where the page lies in the repository; `home`: where that is on the web. Without one, what would lead nowhere is text. */
export function linkedFor(text, { commit, folder, home }) {
  return text.replace(LINK, (whole, image, label, target) => {
    if (/^([a-z]+:|#)/.test(target)) return whole
    if (home === undefined) return image === '!' ? '' : label
    const [path, anchor] = target.split('#')
    const place = posix.join(folder, path)
    const url = image === '!' ? `${home}/raw/${commit}/${place}` : `${home}/blob/${commit}/${place}`
    return `${image}[${label}](${url}${anchor === undefined ? '' : `#${anchor}`})`
  })
}

/** `https://host/owner/name`; undefined where there is none. */
export function repositoryHome() {
  const { repository: named } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const url = typeof named === 'string' ? named : named?.url
  return url?.replace(/^git\+/, '').replace(/\.git$/, '')
}
