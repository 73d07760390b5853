"""Mirrors: the published generation of another place, fetched file by file and published here.

    source        what a source is; `folder`, `web` and `bucket` are the three kinds
    received      what a source says, checked before anything is done with it
    signature     who made a generation (ed25519)
    patience      when to try again; `rate`: how fast to read
    fetch         one file: resumed, bounded, compared with its digest, named last
    stock         the files of a generation: linked if they are here, fetched if not
    part          a generation of some countries, made of one of all
    mirror        one round: from the pointer of the source to the pointer here
    follow        round after round

A source is not trusted: not to be there, not to send what it was asked for, not to send it whole.
All that is believed is the digest in a manifest, and who wants to know who wrote that asks for a
signature. The order is that of a publication: files, then the folder's name, then CURRENT; so
whoever reads DATA sees generations that are whole, whatever happens here.
"""
