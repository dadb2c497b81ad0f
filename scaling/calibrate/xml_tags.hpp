// The tags of an XML file that a program wrote, one after the other; what it is not meant for is
// checking that a file is XML.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline calibrate {

struct XmlTag {
  std::string name;     // "host"; of an end "/host"
  bool closed = false;  // it ends itself: <host/>
  std::map<std::string, std::string> attributes;
  std::string text;  // behind it, up to the next tag

  std::string operator[](const std::string& attribute) const;  // empty if it has none
};

// Without comments and declarations; entities are resolved.
std::vector<XmlTag> xml_tags(const std::string& xml);

}  // namespace fourfold::inline scaling::inline calibrate
