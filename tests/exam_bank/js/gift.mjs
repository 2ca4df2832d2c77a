// Read a GIFT file with gift-pegjs and print its questions as JSON.
import fs from 'fs';
import gift from 'gift-pegjs';
const parse = gift.parse ?? gift.default.parse;
console.log(JSON.stringify(parse(fs.readFileSync(process.argv[2], 'utf8'))));
